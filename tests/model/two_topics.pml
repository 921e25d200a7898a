/* Who owns the two partitions of a number, and what a commit moves: see "Two topics" in docs/guarantees.md.
 *
 * There are PAIRS pairs of partitions, of records and of labels, whose logs are written. Two processes poll, learn, and
 * commit in the steps of connectors/topics/commit.py. A process may crash at any step and start again. The group may move
 * on without it, to any assignment, while it works on. A process with the same `instance` may take its place. Transactions
 * may be aborted until they are committed, and the answer to a commit may be lost.
 *
 * A model is its history: 1, and then a bit for each record (0) and label (1) in the order in which it learned them. The
 * outputs in a transaction are those from the history before it to the one after it. In which order records and labels meet
 * is left open, so all orders are looked at.
 *
 * What holds, as assertions:
 *   - the outputs of committed transactions are those of one model that reads both logs once, each in its order;
 *   - a model that is restored is the one that was committed, at the offsets of both topics;
 *   - there is no state in which all wait before both logs are read, which spin looks for by itself.
 *
 * Left out: the check of the committed offsets before a commit, which finds topics that were created again; retention, as
 * snapshots are deleted as soon as they are superseded; `at_least_once`.
 *
 * spin -run -safety tests/model/two_topics.pml                      2.5 million states, no error
 * spin -DLABELS_LEFT_OUT -run -safety tests/model/two_topics.pml    a mutation, which is found
 */

#ifndef PAIRS
#define PAIRS 1
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef LABELS
#define LABELS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef REBALANCES
#define REBALANCES 1
#endif
#ifndef REPLACEMENTS
#define REPLACEMENTS 1
#endif
#define PROCESSES 2
#define SLOTS (PAIRS + 3 * PROCESSES * PAIRS + 1)
#define NO 255

#define RECORD 0
#define LABEL 1

/* The group */
bool is_member[PROCESSES];
byte owner[PAIRS];
byte crashes, rebalances, replacements;
#ifdef SPLIT
byte owner_of_labels[PAIRS]; /* mutation: the partitions of a number may go to different processes */
#define OWNS(n) (((owner[n] == me || owner_of_labels[n] == me) -> 1 << (n) : 0))
#else
#define OWNS(n) ((owner[n] == me -> 1 << (n) : 0))
#endif

/* By these two, the group knows whether a commit is of the owner. */
#ifdef CURRENT_GENERATION /* mutation: a commit names the generation of now, not that of its assignment */
#define IS_OF_GENERATION true
#else
#define IS_OF_GENERATION (assignment[me] == of_now)
#endif
#ifdef WITHOUT_MEMBER /* mutation: a commit names no member */
#define IS_OF_MEMBER true
#else
#define IS_OF_MEMBER is_member[me]
#endif

/* The committed offsets of both topics. That of the records names the snapshot and the offset of the labels. */
typedef Offsets { byte records, labels, snapshot, labels_named }
Offsets committed[PAIRS];
byte visible[PAIRS]; /* the history that the outputs of committed transactions tell */

/* The store */
bool is_stored[SLOTS];
byte stored[SLOTS];

/* Transactions, by process */
mtype = { none, open, offsets_sent, committing };
mtype transaction[PROCESSES] = none;
typedef PerPair { byte at[PAIRS] }
PerPair before[PROCESSES]; /* the history before the first output in the transaction */
PerPair last[PROCESSES];   /* and after the last one */
PerPair named[PROCESSES];  /* the snapshots in the offsets that were sent */
byte sent[PROCESSES];      /* which pairs have offsets in the transaction, as bits */

/* What a process knows */
mtype = { unknown, of_before, of_now };
mtype assignment[PROCESSES] = unknown; /* the generation in which its partitions were assigned */
byte mine[PROCESSES];      /* these, as bits */
PerPair model[PROCESSES];  /* histories */
PerPair known[PROCESSES];  /* the snapshots in the offsets that it last read or wrote */
PerPair new[PROCESSES];
PerPair first[PROCESSES];  /* the histories before the first output since the last commit */
byte moved[PROCESSES];     /* the pairs with outputs since then, as bits */

#define CLEAR n = 0; k = 0; h = 0; r = 0; l = 0; slot = 0 /* or the same state would look like many */
#define HAS(bits, n) ((bits) & (1 << (n)))

inline count(history, of_records, of_labels) { /* which offsets a history leads to */
    of_records = 0; of_labels = 0; h = history;
    do
    :: h > 1 -> if :: (h & 1) == LABEL -> of_labels++ :: else -> of_records++ fi; h = h >> 1
    :: else -> break
    od
}

bool finished[PAIRS];
#if PAIRS == 1
#define ALL_READ (finished[0])
#define OWNED OWNS(0)
#else
#define ALL_READ (finished[0] && finished[1])
#define OWNED (OWNS(0) | OWNS(1))
#endif

#ifdef READS_UNSTABLE /* mutation: committed offsets are read while others are pending */
#define CAN_BE_READ(bits) true
#else
#define CAN_BE_READ(bits) (!((bits) & (sent[0] | sent[1])) && transaction[me] != committing)
#endif

inline abort(process) {
    if
    :: transaction[process] == open || transaction[process] == offsets_sent ->
        transaction[process] = none; sent[process] = 0; n = 0;
        do
        :: n < PAIRS -> named[process].at[n] = NO; before[process].at[n] = 0; last[process].at[n] = 0; n++
        :: else -> break
        od;
        n = 0
    :: else
    fi
}

inline forget(process) { /* a process knows nothing any more */
    assignment[process] = unknown; mine[process] = 0; moved[process] = 0;
    n = 0;
    do
    :: n < PAIRS ->
        model[process].at[n] = 0; known[process].at[n] = NO; new[process].at[n] = NO; first[process].at[n] = 0; n++
    :: else -> break
    od;
    n = 0
}

/* Names of snapshots are used again, or there would be no end of them. */
#define IS_KNOWN(n) (committed[n].snapshot == slot || known[0].at[n] == slot || known[1].at[n] == slot || \
    new[0].at[n] == slot || new[1].at[n] == slot || named[0].at[n] == slot || named[1].at[n] == slot)
#if PAIRS == 1
#define IS_FREE (!IS_KNOWN(0))
#else
#define IS_FREE (!(IS_KNOWN(0) || IS_KNOWN(1)))
#endif

inline find_free(slot) { /* a new name: of a snapshot that no offset names and no process knows */
    slot = 0;
    do
    :: slot < SLOTS && IS_FREE -> break
    :: else -> assert(slot < SLOTS); slot++
    od
}

inline tidy() { /* nobody looks at what nobody knows, so what it holds makes no difference */
    slot = 0;
    do
    :: slot < SLOTS && IS_FREE -> is_stored[slot] = false; stored[slot] = 0; slot++
    :: slot < SLOTS && !IS_FREE -> slot++
    :: else -> break
    od;
    slot = 0
}

inline drop_uncommitted() { /* the next producer of this process aborts what is open */
    d_step { abort(me); forget(me); tidy(); CLEAR }
}

inline drop_and_keep_assignment() {
    h = mine[me]; abort(me); forget(me); mine[me] = h; assignment[me] = of_now; h = 0
}

inline write_snapshots() {
    n = 0;
    do
    :: n < PAIRS ->
        if
        :: HAS(moved[me], n) -> stored[new[me].at[n]] = model[me].at[n]; is_stored[new[me].at[n]] = true
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0
}

inline delete_superseded() {
    n = 0;
    do
    :: n < PAIRS ->
        if
        :: HAS(moved[me], n) && known[me].at[n] != new[me].at[n] -> is_stored[known[me].at[n]] = false
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0
}

inline crash() { /* by kill -9; the next start is a new member */
    d_step {
        crashes++;
        if :: transaction[me] == open -> abort(me) :: else fi; /* offsets that were sent stay pending */
        forget(me); is_member[me] = false; tidy(); CLEAR
    }
}

#define MAY_CRASH if :: crashes < CRASHES -> crash(); goto start :: true fi

/* What touches nothing that others look at is atomic with the step that follows; a crash in between is looked at. */
proctype Processor(byte me) {
    byte n, k, h, r, l, slot;

start:
    do
    :: ALL_READ -> break

    :: crashes < CRASHES -> crash()

    /* Take over: the group tells of an assignment at some later poll, or never. */
    :: d_step {
            is_member[me] && assignment[me] != of_now && CAN_BE_READ(OWNED);
            assignment[me] = of_now; mine[me] = OWNED;
#ifndef KEEPS_WHAT_IS_LOST /* mutation: uncommitted work stays although others have its partitions */
            if /* outputs of partitions that others have now: all uncommitted work is dropped */
            :: moved[me] & ~mine[me] -> drop_and_keep_assignment()
            :: else
            fi;
#endif
            n = 0;
            do /* the same if others have committed meanwhile */
            :: n < PAIRS ->
                if
                :: HAS(moved[me], n) && known[me].at[n] != committed[n].snapshot -> drop_and_keep_assignment(); break
                :: else -> n++
                fi
            :: else -> break
            od;
            n = 0;
            do /* a model whose offset is the one that this process knows stays; the others are loaded */
            :: n < PAIRS ->
                if
                :: HAS(mine[me], n) && known[me].at[n] != committed[n].snapshot ->
                    slot = committed[n].snapshot;
                    assert(is_stored[slot]);
                    model[me].at[n] = stored[slot]; known[me].at[n] = slot;
                    count(model[me].at[n], r, l);
                    assert(committed[n].labels == committed[n].labels_named);
                    assert(r == committed[n].records && l == committed[n].labels)
                :: !HAS(mine[me], n) && !HAS(moved[me], n) -> model[me].at[n] = 0; known[me].at[n] = NO
                :: else
                fi;
                n++
            :: else -> break
            od;
            tidy(); CLEAR
        }

    /* Learn the next record or label of a partition, also if others own it by now. */
    :: atomic {
            mine[me] != 0 && (transaction[me] == open || transaction[me] == none);
            if
            :: HAS(mine[me], 0) -> n = 0
#if PAIRS > 1
            :: HAS(mine[me], 1) -> n = 1
#endif
            fi;
            if :: k = RECORD :: k = LABEL fi;
            d_step {
                count(model[me].at[n], r, l);
                if
                :: (k == RECORD && r < RECORDS) || (k == LABEL && l < LABELS) ->
                    transaction[me] = open;
                    if :: !HAS(moved[me], n) -> first[me].at[n] = model[me].at[n] :: else fi;
                    moved[me] = moved[me] | (1 << n);
                    model[me].at[n] = (model[me].at[n] << 1) | k
                :: else
                fi;
                CLEAR
            }
        }

    /* Commit */
    :: atomic {
            moved[me] != 0 && transaction[me] == open;
            /* 1: the snapshots are durable, under new names */
            d_step {
                n = 0;
                do
                :: n < PAIRS -> if :: HAS(moved[me], n) -> find_free(slot); new[me].at[n] = slot :: else fi; n++
                :: else -> break
                od;
#ifndef WRITES_LATE
                write_snapshots();
#endif
#ifdef DELETES_EARLY /* mutation: snapshots are deleted before the offsets that name newer ones are committed */
                delete_superseded();
#endif
                CLEAR
            }
            MAY_CRASH;
            if /* 2 to 4: all is sent, and then the offsets of both topics, under the generation of the assignment */
            :: IS_OF_GENERATION && IS_OF_MEMBER ->
                d_step {
                    n = 0;
                    do
                    :: n < PAIRS ->
                        before[me].at[n] = (HAS(moved[me], n) -> first[me].at[n] : 0);
                        last[me].at[n] = (HAS(moved[me], n) -> model[me].at[n] : 0);
                        named[me].at[n] = (HAS(moved[me], n) -> new[me].at[n] : NO);
                        n++
                    :: else -> break
                    od;
                    sent[me] = moved[me]; transaction[me] = offsets_sent; CLEAR
                }
            :: drop_uncommitted(); goto start /* fenced; or the transaction was aborted, or any other failure */
            fi
        }
        MAY_CRASH;
        atomic {
            if /* 5: the coordinator of transactions decides */
            :: transaction[me] == offsets_sent -> transaction[me] = committing
            :: else -> drop_uncommitted(); goto start /* it was aborted */
            fi;
            MAY_CRASH;
            if
            :: true
            :: drop_uncommitted(); goto start /* the answer is lost */
            fi;
            d_step { /* 6 and 7: remember, and delete what is superseded */
#ifdef WRITES_LATE /* mutation: snapshots are written after the offsets that name them */
                write_snapshots();
#endif
#ifndef DELETES_EARLY
                delete_superseded();
#endif
                n = 0;
                do
                :: n < PAIRS ->
                    if :: HAS(moved[me], n) -> known[me].at[n] = new[me].at[n] :: else fi;
                    new[me].at[n] = NO; first[me].at[n] = 0; n++
                :: else -> break
                od;
                moved[me] = 0; tidy(); CLEAR
            }
        }
    od
}

/* The group and the coordinator of transactions. */
proctype Broker() {
    byte n, i, h, r, l, slot;

end:
    do
    /* A transaction with pending offsets is aborted: its time-out, or the next producer of its id. */
    :: d_step { transaction[0] == offsets_sent -> abort(0) }
    :: d_step { transaction[1] == offsets_sent -> abort(1) }

    /* A transaction that was decided is completed: outputs and offsets are visible at once. */
    :: atomic {
        transaction[0] == committing || transaction[1] == committing ->
        if
        :: transaction[0] == committing -> i = 0
        :: transaction[1] == committing -> i = 1
        fi;
        d_step {
        n = 0;
        do
        :: n < PAIRS ->
            if
            :: HAS(sent[i], n) ->
                assert(before[i].at[n] == visible[n]); /* the outputs begin where those that are visible end */
                visible[n] = last[i].at[n];
                count(visible[n], r, l);
                committed[n].records = r;
#ifndef LABELS_LEFT_OUT /* mutation: the offset of the labels is not in the transaction */
                committed[n].labels = l;
#endif
                committed[n].labels_named = l;
                committed[n].snapshot = named[i].at[n];
                finished[n] = (r == RECORDS && l == LABELS)
            :: else
            fi;
            named[i].at[n] = NO; before[i].at[n] = 0; last[i].at[n] = 0; n++
        :: else -> break
        od;
        sent[i] = 0; transaction[i] = none; n = 0; i = 0; r = 0; l = 0; h = 0; tidy()
        }
    }

    /* A new generation, with any assignment: because a process is none of its members, or for no reason. */
    :: atomic {
        !ALL_READ && (!is_member[0] || !is_member[1] || rebalances < REBALANCES) ->
        if :: is_member[0] && is_member[1] -> rebalances++ :: else fi;
        is_member[0] = true; is_member[1] = true; n = 0;
        if :: assignment[0] == of_now -> assignment[0] = of_before :: else fi;
        if :: assignment[1] == of_now -> assignment[1] = of_before :: else fi;
        do
        :: n < PAIRS ->
            if :: owner[n] = 0 :: owner[n] = 1 fi;
#ifdef SPLIT
            if :: owner_of_labels[n] = 0 :: owner_of_labels[n] = 1 fi;
#endif
            n++
        :: else -> break
        od;
        n = 0
    }

    /* A process that is no member comes with the `instance` of the other one, and takes its place in its generation. */
    :: d_step {
        !ALL_READ && replacements < REPLACEMENTS && is_member[0] != is_member[1] &&
        assignment[(is_member[0] -> 1 : 0)] == unknown ->
        replacements++;
        i = (is_member[0] -> 1 : 0);
        is_member[i] = true; is_member[1 - i] = false; n = 0;
        do
        :: n < PAIRS -> if :: owner[n] == 1 - i -> owner[n] = i :: else fi; n++
        :: else -> break
        od;
        n = 0; i = 0
    }
    od
}

init {
    byte n;
    atomic {
        do
        :: n < PAIRS -> /* an empty model is committed before anything is read */
            visible[n] = 1; stored[n] = 1; is_stored[n] = true; committed[n].snapshot = n;
            known[0].at[n] = NO; known[1].at[n] = NO; new[0].at[n] = NO; new[1].at[n] = NO;
            named[0].at[n] = NO; named[1].at[n] = NO; n++
        :: else -> break
        od;
        is_member[0] = true;
        run Processor(0); run Processor(1); run Broker()
    }
}
