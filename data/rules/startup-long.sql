-- SPDX-License-Identifier: MIT
-- id: startup-long
-- severity: info
-- title: {share} of the run was starting up
-- why: The device was held while interpreters, imports, contexts and workers started. In a longer run
--   the same seconds weigh less.
-- fix: Take the device after the slow imports, start workers by fork instead of spawn where the
--   libraries allow it, and import in the workers only what they need.
-- scenario: away startup
-- source: doc/rules.md#startup-long
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, job j, run
WHERE c.cause = 'startup' AND c.share >= 0.15 AND coalesce(j.restarts, 0) = 0;
