-- first: healthy
-- absent: cpu-starved
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 93), ('wait', 'cpu-starved', NULL, 7);
