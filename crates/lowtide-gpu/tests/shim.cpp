// Runs the device's code here: reads a batch from the standard input, writes the answers to the standard output. Compiled together with the device's source.
#include <cstdio>
#include <cstring>
#include <vector>

template <typename T>
static std::vector<T> read(u64 count) {
    std::vector<T> items(count);
    if (fread(items.data(), sizeof(T), count, stdin) != count) exit(1);
    return items;
}

int main() {
    // Tasks, numbers of 32 and of 64 bits, bytes of working memory, length of the answers.
    const std::vector<u64> sizes = read<u64>(5);
    const std::vector<Task> tasks = read<Task>(sizes[0]);
    const std::vector<u32> words = read<u32>(sizes[1]);
    const std::vector<i64> longs = read<i64>(sizes[2]);
    std::vector<u32> answers(sizes[4]);
    for (u64 k = 0; k < tasks.size(); ++k) {
        // Memory of its own for each task, so that a step beyond it is noticed; and nothing in it that could be taken for data.
        const u64 end = k + 1 < tasks.size() ? tasks[k + 1].work : sizes[3];
        std::vector<u64> work((end - tasks[k].work) / 8, 0xa5a5a5a5a5a5a5a5ull);
        const Arrays a = {&tasks[k], words.data(), longs.data(), (u8*)work.data()};
        u32 unfinished = 1;
        begin(a, answers.data(), &unfinished, 0, 7);
        while (unfinished > 0) {
            for (u32 ant = 0; ant < tasks[k].groups * LANES; ++ant) send(a, ant, 0);
            learn(a, answers.data(), &unfinished, 0, 7);
        }
    }
    return fwrite(answers.data(), sizeof(u32), answers.size(), stdout) == answers.size() ? 0 : 1;
}
