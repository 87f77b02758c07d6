-- finding: warning network-service-slow
-- first: network-service-slow
-- absent: rank-late
-- absent: service-idle
-- says: from 10.7.0.9:5000
-- verdict: it waited for answers from 10.7.0.9:5000
-- One process: its tracker thinks for long before it answers, so that no byte is on the way.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'late-peer', '10.7.0.9:5000', 40), ('wait', 'network', '10.7.0.9:5000', 6),
    ('wait', 'host', NULL, 4);
