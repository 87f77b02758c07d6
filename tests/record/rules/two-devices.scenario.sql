-- Two ranks on two devices, one worker each: reads do go on side by side.
-- finding: warning storage-remote-live-read
-- first: storage-remote-live-read
-- absent: loader-few-workers
INSERT INTO ledger (accelerator, state, cause, resource, seconds) VALUES
    (0, 'compute', NULL, NULL, 40), (0, 'wait', 'storage', 'fuse:slowfs /data', 60),
    (1, 'compute', NULL, NULL, 41), (1, 'wait', 'storage', 'fuse:slowfs /data', 59);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('storage', 'fuse:slowfs /data', 'in_flight', 1.8, 'count'),
    ('storage', 'fuse:slowfs /data', 'mean_read_ms', 16, 'ms'),
    ('loader', '', 'workers', 1, 'count'), ('job', '', 'cores_spare', 1.6, 'count');
