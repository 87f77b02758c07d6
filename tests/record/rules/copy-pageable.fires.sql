-- finding: warning copy-pageable
-- first: copy-pageable
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('copy', 'pageable-copy', NULL, 36), ('wait', 'host', NULL, 4);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('copy', '0', 'pageable_bytes', 1e9, 'bytes'), ('copy', '0', 'pinned_bytes', 0, 'bytes');
