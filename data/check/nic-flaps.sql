-- SPDX-License-Identifier: MIT
-- id: nic-flaps
-- for: check
-- severity: warning
-- title: {nic} lost or regained its link {times} times while it was watched
-- why: While the link is down nothing is sent; TCP waits, and NCCL over it may end.
-- fix: Reseat or replace the cable; ethtool {nic}, and dmesg | grep {nic}.
-- needs: nic/carrier_changes_rise
-- source: Linux Documentation/ABI/testing/sysfs-class-net: carrier_changes
SELECT subject AS "nic", number AS "times [count] @/sys/class/net" FROM fact WHERE kind = 'nic' AND name = 'carrier_changes_rise' AND number >= 1;
