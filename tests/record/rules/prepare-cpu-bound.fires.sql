-- finding: warning prepare-cpu-bound
-- first: prepare-cpu-bound
-- absent: loader-few-workers
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'prepare', NULL, 40), ('wait', 'cpu-starved', NULL, 12),
    ('wait', 'storage', 'disk vda', 8);
INSERT INTO fact (kind, name, number) VALUES
    ('loader', 'workers', 2), ('job', 'cores_spare', 0.1), ('job', 'cores_allowed', 2);
