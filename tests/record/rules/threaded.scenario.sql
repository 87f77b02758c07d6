-- One process whose threads read, three at a time: not the launching thread.
-- finding: warning storage-remote-live-read
-- absent: loader-no-workers
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 45), ('wait', 'storage', 'fuse:slowfs /data', 40),
    ('wait', 'host', NULL, 15);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('job', '', 'processes_peak', 1, 'count'), ('job', '', 'cores_spare', 1.1, 'count'),
    ('storage', 'fuse:slowfs /data', 'read_seconds', 180, 's');
