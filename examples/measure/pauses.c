// Loops of PAUSE (YIELD on ARM) of several lengths: what one costs, and whether it grows with their number:
//   syncscope measure --cpu examples/measure/pauses.c --threads 1
// On an Emerald Rapids (measured/16cpus-pauses.csv): 13.6, 109 and 871 ns, 13.6 each: the cost grows with their number.
static inline void pauses(int count) { for (int i = 0; i < count; i++) syncscope_pause(); }

void operation_1(struct thread *me) { (void)me; pauses(1); }
void operation_8(struct thread *me) { (void)me; pauses(8); }
void operation_64(struct thread *me) { (void)me; pauses(64); }
