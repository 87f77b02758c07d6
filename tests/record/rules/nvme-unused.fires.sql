-- finding: warning storage-remote-live-read
-- finding: info nvme-unused
-- first: storage-remote-live-read
-- says: Copy the data to the NVMe disk nvme0n1 (not mounted)
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'storage', 'nfs://10.0.0.4/data', 50);
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('disk', 'nvme0n1', 'nvme', 1, '1');
