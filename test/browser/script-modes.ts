/** The modes in which each walk runs, because the console needs no script: the name of the mode, and whether scripts run. */
export const SCRIPT_MODES = [
  ["with script", true],
  ["without script", false],
] as const;
