/**
 * The error for features of the platform that a stand-in lacks, so that no run takes a wrong answer for the platform's.
 */
export const notSimulated = (what: string): Error => new Error(`not simulated: ${what}`);
