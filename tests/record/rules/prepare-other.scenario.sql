-- finding: warning prepare-cpu-bound
-- says: CPU work of another thread or process
-- says: Let it go on beside the training instead of waiting for it
-- silent: libjpeg
-- A program is run and awaited each so many steps: nobody was seen to make batches.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'prepare', NULL, 60);
