-- Nobody says how data is loaded, but one process reads just while the accelerator waits.
-- finding: warning loader-no-workers
-- finding: info storage-remote-live-read
-- first: loader-no-workers
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 45), ('wait', 'storage', 'fuse:slowfs /data', 40),
    ('wait', 'host', NULL, 15);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('job', '', 'processes_peak', 1, 'count'), ('job', '', 'cores_spare', 0.1, 'count'),
    ('loader', '', 'workers', 1, 'count'), ('loader', '', 'deliveries', 2, 'count'),
    ('storage', 'fuse:slowfs /data', 'read_seconds', 41, 's');
