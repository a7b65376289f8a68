let reportError: (error: Error) => void = () => {};

/** Sets the listener of refusals. The Worker catches most errors of the platform, so an error alone would be lost. */
export function onNotSimulated(listener: (error: Error) => void): void {
  reportError = listener;
}

/** The error for a feature that a stand-in lacks, so that no run takes a wrong answer for the platform's. */
export function notSimulated(what: string): Error {
  const error = new Error(`not simulated: ${what}`);
  reportError(error);
  return error;
}

/** @throws Error `not simulated: …` */
export function refuseIf(isUnknown: boolean, what: string): void {
  if (isUnknown) throw notSimulated(what);
}

/** Refuses options that a stand-in does not know. */
export const refuseOthers = (call: string, others: object): void =>
  refuseIf(Object.keys(others).length > 0, `${call} with ${Object.keys(others)}`);

/** A stand-in as the Worker gets it: a property that it lacks is refused. */
export const refuseOtherProperties = <StandIn extends object>(what: string, standIn: StandIn): StandIn =>
  new Proxy(standIn, {
    get(target, name) {
      refuseIf(!(name in target), `${String(name)} of ${what}`);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
