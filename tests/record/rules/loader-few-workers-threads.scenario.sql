-- finding: warning loader-few-workers
-- finding: info storage-remote-live-read
-- first: loader-few-workers
-- says: Raise the number of loader workers from 1 to 3.
-- A thread of the process makes the batches, no DataLoader: it has no num_workers.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 35), ('wait', 'storage', 'fuse:slowfs /data', 60),
    ('wait', 'prepare', NULL, 5);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('storage', 'fuse:slowfs /data', 'in_flight', 0.9, 'count'),
    ('storage', 'fuse:slowfs /data', 'mean_read_ms', 22, 'ms'), ('loader', '', 'processes', 0, '1'),
    ('loader', '', 'workers', 1, 'count'), ('job', '', 'cores_spare', 1.3, 'count');
