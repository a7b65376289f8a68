/** Takes the queue's messages and drops them. Tests read due deliveries from D1, or use their own queue. */
export default { queue() {} };
