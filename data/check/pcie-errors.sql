-- SPDX-License-Identifier: MIT
-- id: pcie-errors
-- for: check
-- severity: warning
-- title: {device} ({class}) had {errors} PCIe errors while it was watched
-- why: Corrected errors mean that packets are sent again; others end a job. A marginal link often
--   falls back to a lower speed next.
-- fix: Reseat the card or riser; if they go on, have it replaced. dmesg | grep AER names the kind.
-- needs: pci/aer_correctable_rise|pci/aer_nonfatal_rise
-- source: Linux Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats
SELECT address AS "device @/sys/bus/pci", class AS "class", coalesce(aer_correctable_rise, 0) + coalesce(aer_nonfatal_rise, 0) + coalesce(aer_fatal_rise, 0) AS "errors [count]",
       aer_nonfatal_rise AS "not corrected [count]", aer_fatal_rise AS "fatal [count]"
FROM pci WHERE aer_correctable_rise >= 10 OR aer_nonfatal_rise >= 1 OR aer_fatal_rise >= 1;
