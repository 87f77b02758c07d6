-- absent: lock-held
-- finding: warning storage-remote-live-read
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'storage', 'nfs://10.0.0.4/data', 43), ('wait', 'lock', NULL, 7);
