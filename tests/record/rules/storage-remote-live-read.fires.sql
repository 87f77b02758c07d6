-- finding: warning storage-remote-live-read
-- first: storage-remote-live-read
-- says: reads from azblob://acct/images
-- says: the NVMe disk nvme1n1 at /mnt/scratch
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 55), ('wait', 'storage', 'azblob://acct/images', 30),
    ('wait', 'storage', 'azblob://acct/labels', 8), ('wait', 'prepare', NULL, 5),
    ('wait', 'host', NULL, 2);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('storage', 'azblob://acct/images', 'mean_read_ms', 20, 'ms'),
    ('storage', 'azblob://acct/images', 'in_flight', 2, 'count'),
    ('loader', '', 'workers', 2, 'count'), ('job', '', 'cores_spare', 6, 'count'),
    ('disk', 'nvme1n1', 'nvme', 1, '1'), ('disk', 'nvme1n1', 'free', 1e12, 'bytes');
INSERT INTO fact (kind, subject, name, text) VALUES
    ('disk', 'nvme1n1', 'mounted_at', '/mnt/scratch');
