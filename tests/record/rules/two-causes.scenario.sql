-- Causes that do not share the loader are each worth fixing; the larger gain comes first.
-- finding: warning checkpoint-blocking
-- finding: warning storage-remote-live-read
-- first: storage-remote-live-read
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'storage', 's3://bucket', 30),
    ('wait', 'checkpoint', 'disk sda', 20);
