// Loops of PAUSE (YIELD on ARM) of several lengths: what one costs, and whether it grows with their number:
//   syncscope measure --cpu examples/measure/pauses.c --threads 1
static inline void pauses(int count) { for (int i = 0; i < count; i++) syncscope_pause(); }

void operation_1(struct thread *me) { (void)me; pauses(1); }
void operation_8(struct thread *me) { (void)me; pauses(8); }
void operation_64(struct thread *me) { (void)me; pauses(64); }
