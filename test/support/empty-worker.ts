/** Takes the queue's messages and drops them: tests read what is due from D1, or bring their own queue. */
export default { queue() {} };
