-- absent: storage-remote-live-read
-- finding: info healthy
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 93), ('wait', 'storage', 'azblob://acct/images', 7);
