-- absent: startup-long
-- first: healthy
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 88), ('wait', 'startup', NULL, 12);
