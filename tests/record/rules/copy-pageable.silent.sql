-- absent: copy-pageable
-- finding: warning copy-link
-- Copies at the speed of the link, from pinned memory.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('copy', 'link', NULL, 36), ('copy', 'pageable-copy', NULL, 4);
