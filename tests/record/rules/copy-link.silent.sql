-- absent: copy-link
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 95), ('copy', 'link', NULL, 5);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('copy', '0', 'large_bytes', 100e9, 'bytes'), ('copy', '0', 'large_seconds', 4, 's');
