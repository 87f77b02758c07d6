-- SPDX-License-Identifier: MIT
-- id: startup-long
-- severity: info
-- title: {share} of the run was start-up
-- why: The GPU was held while the job was still starting: {_what}. In a longer run the same
--   seconds weigh less.
-- fix: {_how}.
-- scenario: away startup
-- source: doc/rules.md#startup-long
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       CASE WHEN (SELECT python FROM program) IS NOT 0 THEN 'interpreters, imports, contexts and workers'
            ELSE 'processes, libraries and contexts' END AS "_what",
       CASE WHEN (SELECT python FROM program) IS NOT 0 THEN 'Take the device after the slow imports, start workers by fork '
            || 'instead of spawn where the libraries allow it, and import in the workers only what they need'
            ELSE 'Create the context late, after the slow parts of starting up' END AS "_how",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, job j, run
WHERE c.cause = 'startup' AND c.share >= 0.15 AND coalesce(j.restarts, 0) = 0;
