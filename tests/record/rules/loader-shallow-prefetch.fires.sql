-- finding: warning storage-remote-live-read
-- finding: info loader-shallow-prefetch
-- says: Only 4 batches
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'storage', 's3://bucket', 40);
INSERT INTO fact (kind, name, number) VALUES ('loader', 'workers', 4), ('loader', 'depth', 4);
