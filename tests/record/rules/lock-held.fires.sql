-- finding: warning lock-held
-- first: lock-held
-- says: each worker
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'lock', NULL, 48), ('wait', 'prepare', NULL, 6), ('wait', 'host', NULL, 6);
