-- absent: host-bound
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'host', NULL, 40);
