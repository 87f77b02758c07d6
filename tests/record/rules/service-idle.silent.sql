-- absent: service-idle
-- finding: warning rank-late
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'late-peer', '10.0.0.7:41000', 39), ('wait', 'host', NULL, 1);
