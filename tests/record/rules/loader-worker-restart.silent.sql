-- finding: info startup-long
-- absent: loader-worker-restart
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'startup', NULL, 40);
INSERT INTO fact (kind, name, number) VALUES ('loader', 'workers', 2), ('loader', 'restarts', 0);
