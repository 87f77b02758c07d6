-- finding: warning job-sleeps
-- first: job-sleeps
-- says: lock files
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'sleep', NULL, 48), ('wait', 'prepare', NULL, 6), ('wait', 'host', NULL, 6);
