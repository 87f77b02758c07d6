-- absent: host-bound
-- finding: warning loader-no-workers
-- The launching thread loads its own data: that is what to change.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'host', NULL, 30), ('wait', 'storage', 'fuse:slowfs /data', 30);
INSERT INTO fact (kind, name, number) VALUES
    ('loader', 'in_main', 1), ('job', 'cores_spare', 1.1);
