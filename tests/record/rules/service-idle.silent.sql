-- absent: service-idle
-- finding: warning rank-late
-- A rank on another machine, which came to a port of this one's.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'late-peer', '10.0.0.7 to port 29500', 39), ('wait', 'host', NULL, 1);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('env', 'WORLD_SIZE', 'value', '2', '');
