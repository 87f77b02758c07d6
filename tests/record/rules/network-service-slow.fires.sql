-- finding: warning network-service-slow
-- first: network-service-slow
-- absent: network-collective-slow
-- says: from 10.7.0.9:5000
-- One process on one device, which logs each step to a tracker and awaits its answer.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'network', '10.7.0.9:5000', 46), ('wait', 'host', NULL, 4);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('env', 'WORLD_SIZE', 'value', '1', '');
