-- finding: warning loader-worker-restart
-- first: loader-worker-restart
-- absent: startup-long
-- says: started anew 19 times
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'startup', NULL, 40), ('wait', 'prepare', NULL, 10);
INSERT INTO fact (kind, name, number) VALUES ('loader', 'workers', 2), ('loader', 'restarts', 19);
