/** For what the platform does and a stand-in does not: no run of the simulation may take it for the platform's answer. */
export const notSimulated = (what: string): Error => new Error(`not simulated: ${what}`);
