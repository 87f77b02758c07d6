-- finding: info service-idle
-- absent: rank-late
-- absent: network-service-slow
-- says: waits for requests of 20 clients
-- Each of them alone is waited for but a little; the service uses two devices.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
INSERT INTO ledger (state, cause, resource, seconds, accelerator)
SELECT 'wait', 'late-peer', '10.0.0.' || i || ' to port 8000', 4, 0 FROM n;
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 20, 0), ('compute', NULL, NULL, 100, 1);
