-- finding: warning host-bound
-- first: host-bound
-- says: ran code of its own on a core
-- A job that was measured: workers load, and the training thread does other things between two launches.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'host', NULL, 36), ('wait', 'cpu-starved', NULL, 4);
INSERT INTO fact (kind, name, number) VALUES ('loader', 'workers', 2), ('loader', 'deliveries', 400);
