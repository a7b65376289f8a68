/** Every walk is gone twice: the console needs no script. The name of the mode, and whether scripts run. */
export const SCRIPT_MODES = [
  ["with script", true],
  ["without script", false],
] as const;
