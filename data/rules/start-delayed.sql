-- SPDX-License-Identifier: MIT
-- id: start-delayed
-- severity: info
-- title: Work was launched, and for {share} of the time the GPU did not begin it
-- why: The launches had returned and nothing ran: the streams waited for something that the trace does
--   not show. No loader and no launching thread stood in the way.
-- fix: Look what the streams wait for: another process on the GPU, another GPU, work from before the
--   trace began, or a graph whose kernels the profiler left out. In a server it may be that no
--   request was there.
-- scenario: none
-- source: doc/rules.md#start-delayed
SELECT l.seconds AS "waited [s]",
       l.seconds / run.accelerator_seconds AS "share [1]"
FROM run, (SELECT sum(number) AS seconds FROM fact WHERE kind = 'launch' AND name = 'late_seconds') l
WHERE l.seconds >= 0.08 * run.accelerator_seconds;
