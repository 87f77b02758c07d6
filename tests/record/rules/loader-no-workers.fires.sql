-- finding: warning loader-no-workers
-- finding: info storage-remote-live-read
-- first: loader-no-workers
-- says: num_workers=2
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 45), ('wait', 'storage', 'fuse:slowfs /data', 40),
    ('wait', 'host', NULL, 15);
INSERT INTO fact (kind, name, number) VALUES
    ('loader', 'in_main', 1), ('loader', 'workers', 0), ('job', 'cores_spare', 1.1);
