-- finding: info healthy
-- first: healthy
-- says: computed 96 %
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 96), ('wait', 'host', NULL, 2.5), ('wait', 'startup', NULL, 1.5);
