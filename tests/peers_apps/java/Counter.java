import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;

/** A Kafka Streams application that counts what comes by key, until it is killed: settings as key=value words. */
public final class Counter {
    private Counter() { }

    public static void main(String[] words) throws InterruptedException {
        Properties settings = new Properties();
        for (String word : words) {
            int sign = word.indexOf('=');
            settings.put(word.substring(0, sign), word.substring(sign + 1));
        }
        StreamsBuilder builder = new StreamsBuilder();
        KTable<String, Long> counts =
            builder.stream("spoken", Consumed.with(Serdes.String(), Serdes.String())).groupByKey().count();
        counts.toStream().to("counted", Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        streams.start();
        new CountDownLatch(1).await();
    }
}
