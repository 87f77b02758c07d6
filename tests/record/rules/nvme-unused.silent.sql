-- finding: warning storage-remote-live-read
-- absent: nvme-unused
-- One disk is not NVMe, one is waited for, one is known to be used, one is a cloud's remote disk.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'storage', 'nfs://10.0.0.4/data', 49),
    ('wait', 'storage', 'disk nvme1n1 (/)', 1);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('disk', 'sda', 'nvme', 0, '1'), ('disk', 'nvme1n1', 'nvme', 1, '1'),
    ('disk', 'nvme2n1', 'nvme', 1, '1'), ('disk', 'nvme2n1', 'used_by_job', 1, '1'),
    ('disk', 'nvme3n1', 'nvme', 1, '1'), ('disk', 'nvme3n1', 'local', 0, '1');
