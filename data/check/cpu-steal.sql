-- SPDX-License-Identifier: MIT
-- id: cpu-steal
-- for: check
-- severity: warning
-- title: The hypervisor gives {share} of this machine's CPU time to others
-- why: While a virtual core waits for a real one, loader workers and kernel launches stop for
--   milliseconds.
-- fix: Move to another host or to a size that is not overcommitted; on a host of your own, pin the
--   cores of this guest.
-- needs: cpu/steal_share
-- source: proc_stat(5) (steal)
SELECT number AS "share [1] @/proc/stat", CASE WHEN number >= 0.1 THEN (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') END AS "watched [s]",
       CASE WHEN number < 0.1 OR (SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds') < 5 THEN 'info' END AS "severity"
FROM fact WHERE kind = 'cpu' AND name = 'steal_share' AND number >= 0.05;
