-- finding: warning cpu-starved
-- first: cpu-starved
-- says: (2)
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 45), ('wait', 'cpu-starved', NULL, 40), ('wait', 'prepare', NULL, 15);
INSERT INTO fact (kind, name, number) VALUES
    ('loader', 'workers', 1), ('job', 'cores_allowed', 2), ('job', 'cores_spare', 0.05);
