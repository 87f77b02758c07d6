-- finding: warning loader-few-workers
-- finding: info prepare-cpu-bound
-- first: loader-few-workers
-- says: from 4 to 8
-- Cores are idle: workers first; above info only that.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'prepare', NULL, 50);
INSERT INTO fact (kind, name, number) VALUES ('loader', 'workers', 4), ('job', 'cores_spare', 20);
