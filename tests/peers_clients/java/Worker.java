import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer by Kafka's own client that speaks the tests' lines: see tests/peers_clients/workers/lines.py. */
public final class Worker {
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
        "range", RangeAssignor.class,
        "roundrobin", RoundRobinAssignor.class,
        "sticky", StickyAssignor.class,
        "cooperative-sticky", CooperativeStickyAssignor.class);

    private static String reported = "";
    private static long nextCommitMs;

    private Worker() { }

    public static void main(String[] words) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < words.length; i += 2) {
            options.put(words[i].substring(2), words[i + 1]);
        }
        ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> read(commands));
        reader.setDaemon(true);
        reader.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(options))) {
            subscribe(consumer, List.of(options.get("topic")));
            long commitMs = Long.parseLong(options.getOrDefault("commit-ms", "0"));
            Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
            while (true) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    read.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                tell(consumer.assignment());
                if (commitMs > 0) {
                    maybeCommit(consumer, read, commitMs);
                }
                String command = commands.poll();
                if (command != null && !obey(consumer, command.split(" "))) {
                    return;
                }
            }
        }
    }

    private static Properties settings(Map<String, String> options) {
        Properties settings = new Properties();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, options.get("group"));
        settings.put(ConsumerConfig.CLIENT_ID_CONFIG, options.get("client-id"));
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        // Else a leader that finds no broker forgets its topics, and joins again as soon as it finds one.
        settings.put("metadata.recovery.strategy", "none");
        if (options.getOrDefault("protocol", "classic").equals("consumer")) {
            settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "consumer");
            settings.put(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, options.getOrDefault("max-poll-ms", "20000"));
        } else {
            settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, options.getOrDefault("session-ms", "3000"));
            settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, options.getOrDefault("heartbeat-ms", "300"));
            settings.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
                ASSIGNORS.get(options.getOrDefault("assignor", "range")).getName());
        }
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        if (options.containsKey("instance-id")) {
            settings.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, options.get("instance-id"));
        }
        if (options.containsKey("user")) {
            String module = options.get("mechanism").equals("PLAIN")
                ? "org.apache.kafka.common.security.plain.PlainLoginModule"
                : "org.apache.kafka.common.security.scram.ScramLoginModule";
            settings.put("security.protocol", options.containsKey("ca") ? "SASL_SSL" : "SASL_PLAINTEXT");
            settings.put("sasl.mechanism", options.get("mechanism"));
            settings.put("sasl.jaas.config", String.format("%s required username=\"%s\" password=\"%s\";",
                module, options.get("user"), options.get("password")));
        }
        if (options.containsKey("ca")) {
            settings.put("ssl.truststore.type", "PEM");
            settings.put("ssl.truststore.location", options.get("ca"));
        }
        return settings;
    }

    /** Commits what was read, and says so; what a rebalance refuses is read again. */
    private static void maybeCommit(
            KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, OffsetAndMetadata> read, long everyMs) {
        read.keySet().retainAll(consumer.assignment());
        if (read.isEmpty() || System.currentTimeMillis() < nextCommitMs) {
            return;
        }
        long sentMs = System.currentTimeMillis();
        nextCommitMs = sentMs + everyMs;
        try {
            consumer.commitSync(read);
        } catch (KafkaException refused) {
            read.clear();
            return;
        }
        String offsets = read.entrySet().stream()
            .map(one -> String.format("\"%s/%d\":%d",
                one.getKey().topic(), one.getKey().partition(), one.getValue().offset()))
            .collect(Collectors.joining(","));
        System.out.printf("{\"event\":\"progress\",\"sent_ms\":%d,\"at_ms\":%d,\"offsets\":{%s}}%n",
            sentMs, System.currentTimeMillis(), offsets);
        read.clear();
    }

    private static void read(ConcurrentLinkedQueue<String> commands) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                commands.add(line);
            }
        } catch (java.io.IOException end) {
            System.err.println(end);
        }
        commands.add("close");
    }

    private static void subscribe(KafkaConsumer<byte[], byte[]> consumer, List<String> topics) {
        if (topics.get(0).startsWith("^")) {
            consumer.subscribe(new SubscriptionPattern(topics.get(0)));
        } else {
            consumer.subscribe(topics);
        }
    }

    private static boolean obey(KafkaConsumer<byte[], byte[]> consumer, String[] words) {
        if (words[0].equals("close")) {
            return false;
        }
        if (words[0].equals("subscribe")) {
            subscribe(consumer, List.of(words).subList(1, words.length));
            return true;
        }
        int slash = words[1].lastIndexOf('/');
        TopicPartition where =
            new TopicPartition(words[1].substring(0, slash), Integer.parseInt(words[1].substring(slash + 1)));
        switch (words[0]) {
            case "commit" -> {
                consumer.commitSync(Map.of(where, new OffsetAndMetadata(Long.parseLong(words[2]))));
                say("committed", where, words[2]);
            }
            case "committed" -> {
                OffsetAndMetadata found = consumer.committed(Set.of(where)).get(where);
                say("committed", where, found == null ? "null" : String.valueOf(found.offset()));
            }
            default -> say("position", where, String.valueOf(consumer.position(where)));
        }
        return true;
    }

    private static void say(String event, TopicPartition where, String offset) {
        System.out.printf("{\"event\":\"%s\",\"partition\":\"%s/%d\",\"offset\":%s}%n",
            event, where.topic(), where.partition(), offset);
    }

    private static void tell(Set<TopicPartition> assignment) {
        Set<String> names = new TreeSet<>();
        assignment.forEach(place -> names.add("\"" + place.topic() + "/" + place.partition() + "\""));
        String now = names.stream().collect(Collectors.joining(",", "[", "]"));
        if (!now.equals(reported)) {
            reported = now;
            System.out.println("{\"event\":\"assignment\",\"partitions\":" + now + "}");
        }
    }
}
