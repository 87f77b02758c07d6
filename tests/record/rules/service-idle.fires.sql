-- finding: info service-idle
-- absent: rank-late
-- absent: network-collective-slow
-- says: waits for requests of 10.0.0.7 to port 8000
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 20), ('wait', 'late-peer', '10.0.0.7 to port 8000', 79), ('wait', 'host', NULL, 1);
