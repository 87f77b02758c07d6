-- absent: network-service-slow
-- finding: warning network-collective-slow
-- Started by mpirun as one of two ranks.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'network', '10.7.0.2:29500', 40),
    ('wait', 'late-peer', 'rank 1', 10);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('env', 'OMPI_COMM_WORLD_SIZE', 'value', '2', '');
